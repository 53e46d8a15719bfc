"""A DataLoader that loads when it is asked, in its own process."""


class Dataset:
    pass


class DataLoader:
    def __init__(self, dataset, batch_size, num_workers, prefetch_factor, multiprocessing_context,
                 worker_init_fn):
        if batch_size is not None or num_workers < 1 or prefetch_factor < 1:
            raise ValueError("not as PyTorch's would take it")
        if multiprocessing_context != "fork" or not callable(worker_init_fn):
            raise ValueError("not as PyTorch's would take it")
        self.dataset = dataset

    def __iter__(self):
        for index in range(len(self.dataset)):
            yield self.dataset[index]
