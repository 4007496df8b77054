"""TFRecord files and the tf.train.Example in each record, without TensorFlow."""
