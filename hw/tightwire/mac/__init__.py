"""The Ethernet MAC: LiteEth's PHYs and transmitter, with receive checks and clock crossings."""
