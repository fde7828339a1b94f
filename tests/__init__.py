"""The tests, as a package that no other package called tests can hide."""
