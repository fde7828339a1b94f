"""Estimators with any option given by name, be it an argument or of `config`."""

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators.tuning import set_options


def classifier(kind=ModernNCAClassifier, **options):
    return set_options(kind(), options)


def regressor(**options):
    return classifier(ModernNCARegressor, **options)
