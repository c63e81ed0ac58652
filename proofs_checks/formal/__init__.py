"""The theorems and the checker of certificates in Coq, and the command that has a certificate checked."""
