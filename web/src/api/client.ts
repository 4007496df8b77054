// Every request to the server goes through here: errors are sentences, arrays are typed.

export class StudioError extends Error {
  constructor(
    readonly status: number,
    sentence: string,
    /** All that the server said, where it said more than a sentence. */
    readonly said: unknown = null,
  ) {
    super(sentence);
  }
}

export type Params = Record<string, string | number | boolean | string[] | null | undefined>;

const away = "Studio's server does not answer. Is it still running?";

export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  const text = query.toString();
  return `/api${path}${text ? `?${text}` : ""}`;
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    announce(false);
    throw new StudioError(0, away);
  }
  announce(true);
  if (response.ok) return response;
  if (response.status === 401) window.dispatchEvent(new Event("studio:login"));
  throw await refusal(response);
}

async function refusal(response: Response): Promise<StudioError> {
  try {
    const said: unknown = await response.json();
    if (said && typeof said === "object" && "error" in said) {
      return new StudioError(response.status, String(said.error), said);
    }
  } catch {
    // Not JSON: a proxy in between has answered.
  }
  return new StudioError(
    response.status,
    `The server answered ${response.status} ${response.statusText}.`,
  );
}

let reachable = true;

/** Tells the frame of the page when the server goes and comes back. */
function announce(is: boolean): void {
  if (is === reachable) return;
  reachable = is;
  window.dispatchEvent(new CustomEvent("studio:reachable", { detail: is }));
}

export async function getJson<T>(
  path: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<T> {
  const response = await ask(address(path, params), { signal });
  return (await response.json()) as T;
}

export async function sendJson<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T> {
  const init: RequestInit = { method, headers: { "X-Studio": "1" } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json", "X-Studio": "1" };
  }
  const response = await ask(`/api${path}`, init);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export async function getBytes(
  path: string,
  params: Params = {},
  range?: [number, number],
  signal?: AbortSignal,
): Promise<ArrayBuffer> {
  const headers: HeadersInit = range ? { Range: `bytes=${range[0]}-${range[1] - 1}` } : {};
  const response = await ask(address(path, params), { headers, signal });
  return response.arrayBuffer();
}

export type Values =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Uint16Array
  | Int16Array
  | Uint8Array;

export interface Arrays<F = Record<string, unknown>> {
  facts: F;
  values: Record<string, Values>;
  shapes: Record<string, number[]>;
}

const kinds = {
  float64: Float64Array,
  float32: Float32Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint8: Uint8Array,
} as const;

/** Arrays as `corporeal.studio.binary` packs them. */
export async function getArrays<F = Record<string, unknown>>(
  path: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<Arrays<F>> {
  return unpack<F>(await getBytes(path, params, undefined, signal));
}

export function unpack<F = Record<string, unknown>>(buffer: ArrayBuffer): Arrays<F> {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as {
    arrays: { name: string; dtype: keyof typeof kinds; shape: number[] }[];
  } & F;
  const found: Arrays<F> = { facts: head, values: {}, shapes: {} };
  let offset = 4 + length;
  for (const { name, dtype, shape } of head.arrays) {
    const kind = kinds[dtype];
    const count = shape.reduce((product, size) => product * size, 1);
    found.values[name] = new kind(buffer, offset, count);
    found.shapes[name] = shape;
    offset += Math.ceil((count * kind.BYTES_PER_ELEMENT) / 8) * 8;
  }
  return found;
}
