"""What coding gradients does to training: experiments that anyone can repeat.

``make experiments`` runs the quick version in minutes; ``python -m tightwire_sim.experiments
--help`` says more. ``tasks`` are the models and data, ``methods`` how gradients are summed,
``worker`` is one process of a run, ``variance`` needs no training, ``page`` and ``plots`` show
what came out. Needs PyTorch and scikit-learn; all data comes with packages.
"""
