"""The web app of ``--rag-serve``: a server for this machine alone, and its page in ``assets/``."""
