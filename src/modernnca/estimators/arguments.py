"""All the arguments of the estimators, stored as they were given."""

from sklearn.base import BaseEstimator


class Arguments(BaseEstimator):
    """The one list of arguments. See `ModernNCAClassifier` for what they mean."""

    def __init__(
        self,
        *,
        preset="auto",
        numbers="auto",
        categories="auto",
        categorical_columns=None,
        numerical_columns=None,
        time_column=None,
        time_features="auto",
        past_only="auto",
        indicators="auto",
        few_values="auto",
        scale_columns="auto",
        wide="auto",
        encoding="auto",
        n_frequencies="auto",
        frequency_scale="auto",
        d_encoding="auto",
        n_bins="auto",
        n_knots="auto",
        embedding="auto",
        dim="auto",
        n_blocks="auto",
        d_block="auto",
        dropout="auto",
        distance="auto",
        temperature="auto",
        loss="auto",
        label_smoothing="auto",
        head="auto",
        sampler="auto",
        sample_rate="auto",
        max_sampled="auto",
        sample_exponent="auto",
        prediction="auto",
        n_neighbors="auto",
        optimizer="auto",
        learning_rate="auto",
        weight_decay="auto",
        batch_size="auto",
        max_epochs="auto",
        patience="auto",
        stopping_metric="auto",
        ties="auto",
        max_judges="auto",
        validation_fraction="auto",
        validation_rows="auto",
        time_limit=None,
        n_members="auto",
        variety="auto",
        refit="auto",
        calibrate="auto",
        guard="auto",
        class_weight=None,
        callbacks=(),
        checkpoint_dir=None,
        device="auto",
        random_state=None,
        verbose=0,
    ):
        self.preset = preset
        self.numbers = numbers
        self.categories = categories
        self.categorical_columns = categorical_columns
        self.numerical_columns = numerical_columns
        self.time_column = time_column
        self.time_features = time_features
        self.past_only = past_only
        self.indicators = indicators
        self.few_values = few_values
        self.scale_columns = scale_columns
        self.wide = wide
        self.encoding = encoding
        self.n_frequencies = n_frequencies
        self.frequency_scale = frequency_scale
        self.d_encoding = d_encoding
        self.n_bins = n_bins
        self.n_knots = n_knots
        self.embedding = embedding
        self.dim = dim
        self.n_blocks = n_blocks
        self.d_block = d_block
        self.dropout = dropout
        self.distance = distance
        self.temperature = temperature
        self.loss = loss
        self.label_smoothing = label_smoothing
        self.head = head
        self.sampler = sampler
        self.sample_rate = sample_rate
        self.max_sampled = max_sampled
        self.sample_exponent = sample_exponent
        self.prediction = prediction
        self.n_neighbors = n_neighbors
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.stopping_metric = stopping_metric
        self.ties = ties
        self.max_judges = max_judges
        self.validation_fraction = validation_fraction
        self.validation_rows = validation_rows
        self.time_limit = time_limit
        self.n_members = n_members
        self.variety = variety
        self.refit = refit
        self.calibrate = calibrate
        self.guard = guard
        self.class_weight = class_weight
        self.callbacks = callbacks
        self.checkpoint_dir = checkpoint_dir
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
