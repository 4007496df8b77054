// Two tones that nobody overhears; browsers allow sound only after somebody has touched the page.

export class Siren {
  private context: AudioContext | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Ask for sound; true when the browser allows it. */
  async allow(): Promise<boolean> {
    this.context ??= new AudioContext();
    // Without a touch this waits for ever, so that it is not waited for.
    void this.context.resume();
    await new Promise((done) => setTimeout(done, 50));
    return this.context.state === "running";
  }

  get isSounding(): boolean {
    return this.timer !== undefined;
  }

  start(): void {
    if (this.timer !== undefined) return;
    this.cry();
    this.timer = setInterval(() => this.cry(), 1200);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  close(): void {
    this.stop();
    void this.context?.close();
    this.context = null;
  }

  private cry(): void {
    const { context } = this;
    if (context?.state !== "running") return;
    for (const [place, tone] of [880, 660].entries()) {
      const begin = context.currentTime + place * 0.28;
      const oscillator = context.createOscillator();
      const gain = context.createGain();
      oscillator.type = "square";
      oscillator.frequency.value = tone;
      gain.gain.setValueAtTime(0, begin);
      gain.gain.linearRampToValueAtTime(0.2, begin + 0.02);
      gain.gain.linearRampToValueAtTime(0, begin + 0.25);
      oscillator.connect(gain).connect(context.destination);
      oscillator.start(begin);
      oscillator.stop(begin + 0.26);
    }
  }
}
