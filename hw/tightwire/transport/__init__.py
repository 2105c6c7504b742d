"""The reliable transport of messages; docs/transport.md."""
