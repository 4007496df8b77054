// How often a picture may be drawn: a slow graphics card, or none, must not hold up the page.

const quickMs = 25;
const longestRestMs = 500;

/** Whether pictures are worked out by the processor; asked once, as it costs a context. */
let software: boolean | null = null;

export function isSoftware(): boolean {
  if (software !== null) return software;
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  software = /swiftshader|llvmpipe|software|basic render/i.test(name);
  return software;
}

/** Lets the next picture wait until the last one is done, and then `rests` times as long as it took. */
export class FrameBudget {
  private fence: WebGLSync | null = null;
  private begun = 0;
  private rest = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly rests = 1,
  ) {}

  /** A picture was handed to the card. */
  drawn(): void {
    this.drop();
    this.begun = performance.now();
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
  }

  /** Whether the next one may follow. */
  isFree(): boolean {
    const now = performance.now();
    if (this.fence) {
      const state = this.gl.clientWaitSync(this.fence, 0, 0);
      // A fence that never comes, after a lost context, must not stop the pictures for good.
      if (state === this.gl.TIMEOUT_EXPIRED && now - this.begun < 3000) return false;
      const took = now - this.begun;
      this.drop();
      this.rest = took > quickMs ? now + Math.min(this.rests * took, longestRestMs) : 0;
    }
    return now >= this.rest;
  }

  /** The context was lost, and its fence with it. */
  forget(): void {
    this.fence = null;
    this.rest = 0;
  }

  private drop(): void {
    if (this.fence) this.gl.deleteSync(this.fence);
    this.fence = null;
  }
}
