// A picture with its head as one message, as `corporeal.capture.thumbnail` frames it.

export interface Framed<Head> {
  head: Head;
  jpeg: Uint8Array<ArrayBuffer>;
}

/** uint16 length of the head, the head as JSON, the JPEG. */
export function unframed<Head>(message: ArrayBuffer): Framed<Head> {
  const length = new DataView(message).getUint16(0, true);
  const text = new TextDecoder().decode(new Uint8Array(message, 2, length));
  return { head: JSON.parse(text) as Head, jpeg: new Uint8Array(message, 2 + length) };
}
