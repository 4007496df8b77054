// A second place for edits on their way. What the browser keeps at once may wait seconds before
// it is on the disk; what lies here is on the disk when it says so, and survives a power cut.

export interface EditStore {
  put: (key: string, text: string) => Promise<void>;
  remove: (key: string) => Promise<void>;
  /** Every text whose key begins so. */
  all: (prefix: string) => Promise<string[]>;
}

const store = "kept";

function opened(): Promise<IDBDatabase> {
  return new Promise((done, fail) => {
    const asked = indexedDB.open("studio-annotate", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(store);
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => fail(asked.error ?? new Error("the browser has no store"));
  });
}

let database: Promise<IDBDatabase> | null = null;

async function run<T>(
  mode: IDBTransactionMode,
  work: (held: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  database ??= opened();
  const transaction = (await database).transaction(store, mode, { durability: "strict" });
  const asked = work(transaction.objectStore(store));
  return new Promise((done, fail) => {
    transaction.oncomplete = () => done(asked.result);
    transaction.onabort = () =>
      fail(transaction.error ?? new Error("the browser could not keep it"));
  });
}

export const indexedDbStore: EditStore = {
  put: async (key, text) => void (await run("readwrite", (held) => held.put(text, key))),
  remove: async (key) => run("readwrite", (held) => held.delete(key)),
  all: async (prefix) =>
    run(
      "readonly",
      (held) => held.getAll(IDBKeyRange.bound(prefix, `${prefix}￿`)) as IDBRequest<string[]>,
    ),
};
