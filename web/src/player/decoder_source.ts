// The best way to show a camera here: decoded in the page, else picture by picture from the server.
import { getPicture, type Packets } from "../api/movie";
import { canDecode, MovieDecoder } from "./decoder";
import { Chunks } from "./decoder_chunks";
import { FetchedFrames } from "./fetched_frames";
import type { FrameListener, FrameSource } from "./frame_source";

export type Picture = VideoFrame | ImageBitmap;

/** Opens at once; frames wanted before the choice is made are shown when it is. */
export class CameraSource implements FrameSource {
  private source: FrameSource | null = null;
  private asked: { frames: number[]; isPlaying: boolean } | null = null;
  private isClosed = false;
  private readonly chunks: Chunks;

  constructor(
    private readonly id: string,
    private readonly stream: string,
    private readonly packets: Packets,
    private readonly listener: FrameListener<Picture>,
  ) {
    this.chunks = Chunks.of(id, stream, packets);
    void canDecode(packets).then((can) => this.use(can ? this.decoded() : this.fetched()));
  }

  want(frames: number[], isPlaying: boolean): void {
    this.asked = { frames, isPlaying };
    const now = frames[0];
    // The bytes may come while the browser makes up its mind.
    if (!this.source && now !== undefined && this.packets.codec)
      this.chunks.prefetch(now, { before: 0, after: 0 });
    this.source?.want(frames, isPlaying);
  }

  close(): void {
    this.isClosed = true;
    this.chunks.close();
    this.source?.close();
  }

  private use(source: FrameSource): void {
    if (this.isClosed) {
      source.close();
      return;
    }
    this.source?.close();
    this.source = source;
    if (this.asked) source.want(this.asked.frames, this.asked.isPlaying);
  }

  private decoded(): FrameSource {
    return new MovieDecoder(this.packets, this.chunks, {
      ...this.listener,
      giveUp: () => this.use(this.fetched()),
    });
  }

  private fetched(): FrameSource {
    return new FetchedFrames<ImageBitmap>(
      {
        get: (frame, signal) => getPicture(this.id, this.stream, frame, undefined, signal),
        free: (bitmap) => bitmap.close(),
      },
      this.listener,
    );
  }
}
