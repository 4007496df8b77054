// The stage: one WebGL picture with light, floor and camera, drawn only when something changed.
import {
  ACESFilmicToneMapping,
  DirectionalLight,
  HemisphereLight,
  PCFShadowMap,
  PerspectiveCamera,
  type Vector3,
  WebGLRenderer,
  Scene as World,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Floor } from "./floor";
import { FrameBudget, isSoftware } from "./frame_budget";
import { type Palette, readPalette } from "./palette";

const finest = 2;
/** Without a graphics card the page stands still while a picture is made: cameras go first, and most of the time is theirs. */
const frugalDelayMs = 60;
const frugalRests = 4;
const stillMs = 300;

export class Stage {
  readonly world = new World();
  readonly camera = new PerspectiveCamera(32, 1, 0.05, 60);
  readonly floor = new Floor();
  readonly controls: OrbitControls;
  readonly canvas: HTMLCanvasElement;
  palette: Palette = readPalette();
  /** Milliseconds of script that the last picture took, and pictures so far. */
  drawnMs = 0;
  drawn = 0;
  private readonly renderer: WebGLRenderer;
  private readonly budget: FrameBudget;
  /** Without a graphics card: fewer and coarser pictures. */
  readonly isFrugal: boolean;
  private readonly sun = new DirectionalLight(0xffffff, 2.6);
  private readonly sky = new HemisphereLight(0xffffff, 0x000000, 1.5);
  private readonly rim = new DirectionalLight(0xffffff, 1.3);
  private readonly sizes: ResizeObserver;
  private readonly sight: IntersectionObserver;
  private frame = 0;
  private delay = 0;
  private isSeen = true;
  private still = 0;
  private isFine = false;

  constructor(private readonly parent: HTMLElement) {
    this.isFrugal = isSoftware();
    this.renderer = new WebGLRenderer({
      antialias: !this.isFrugal,
      alpha: false,
      powerPreference: "low-power",
    });
    this.budget = new FrameBudget(
      this.renderer.getContext() as WebGL2RenderingContext,
      this.isFrugal ? frugalRests : 1,
    );
    this.canvas = this.renderer.domElement;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false;
    this.renderer.toneMapping = ACESFilmicToneMapping;
    this.renderer.toneMappingExposure = 1.05;
    parent.append(this.canvas);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = false;
    // On a phone the page must still scroll: one finger up and down is the page's, across the view's.
    this.canvas.style.touchAction = "pan-y";
    this.controls.maxPolarAngle = 0.54 * Math.PI;
    this.controls.minDistance = 0.25;
    this.controls.maxDistance = 14;
    this.controls.addEventListener("change", this.invalidate);
    this.light();
    this.repaint();
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(parent);
    this.sight = new IntersectionObserver(([entry]) => {
      this.isSeen = entry?.isIntersecting ?? true;
      if (this.isSeen) this.invalidate();
    });
    this.sight.observe(parent);
    this.canvas.addEventListener("webglcontextlost", this.onLost);
    this.canvas.addEventListener("webglcontextrestored", this.onRestored);
    this.fit();
  }

  /** Draw once more, soon; asked for many times, it is done once. */
  invalidate = (): void => {
    clearTimeout(this.still);
    if (this.frame || this.delay) return;
    if (this.isFrugal) this.delay = window.setTimeout(this.nextFrame, frugalDelayMs);
    else this.nextFrame();
  };

  /** Something moved that casts a shadow. */
  moved(): void {
    this.renderer.shadowMap.needsUpdate = true;
    this.invalidate();
  }

  repaint(): void {
    this.palette = readPalette();
    this.renderer.setClearColor(this.palette.stage);
    this.floor.paint(this.palette.grid, this.palette.stage.clone().lerp(this.palette.ink, 0.055));
    this.moved();
  }

  /** Picture elements of the drawing per one of the page. */
  get fineness(): number {
    return this.renderer.getPixelRatio();
  }

  get drawCalls(): number {
    return this.renderer.info.render.calls;
  }

  /** Move the camera and what it looks at, both by as much. */
  shift(by: Vector3): void {
    this.camera.position.add(by);
    this.controls.target.add(by);
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.delay);
    clearTimeout(this.still);
    this.frame = -1;
    this.sizes.disconnect();
    this.sight.disconnect();
    this.canvas.removeEventListener("webglcontextlost", this.onLost);
    this.canvas.removeEventListener("webglcontextrestored", this.onRestored);
    this.controls.dispose();
    this.floor.dispose();
    this.sun.dispose();
    this.renderer.dispose();
    // Browsers allow few contexts at once: give this one back without waiting for the collector.
    this.renderer.forceContextLoss();
    this.canvas.remove();
  }

  private light(): void {
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(this.isFrugal ? 1024 : 2048);
    this.sun.shadow.radius = 5;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = this.isFrugal ? 0.03 : 0.014;
    Object.assign(this.sun.shadow.camera, {
      left: -1.6,
      right: 1.6,
      top: 1.6,
      bottom: -1.6,
      near: 0.5,
      far: 8,
    });
    this.rim.position.set(-3, 2.5, 1.6);
    this.sky.position.set(0, 0, 1);
    this.world.add(this.sun, this.sun.target, this.sky, this.rim, this.floor.group);
    this.aim(0, 0);
  }

  /** Light and floor go along with what one looks at. */
  aim(x: number, y: number): void {
    this.sun.target.position.set(x, y, 0.4);
    this.sun.position.set(x + 1.6, y - 1.3, 3.6);
    this.floor.centre(x, y);
  }

  private fit(): void {
    const { clientWidth: width, clientHeight: height } = this.parent;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, this.isFrugal ? 1 : finest));
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.moved();
  }

  private nextFrame = (): void => {
    this.delay = 0;
    this.frame = requestAnimationFrame(this.draw);
  };

  private draw = (): void => {
    this.frame = 0;
    if (!this.isSeen || this.renderer.getContext().isContextLost()) return;
    if (!this.budget.isFree()) {
      this.invalidate();
      return;
    }
    const begin = performance.now();
    this.drawQuickly();
    this.renderer.render(this.world, this.camera);
    this.budget.drawn();
    this.drawnMs = performance.now() - begin;
    this.drawn += 1;
    if (this.isFrugal) this.still = window.setTimeout(this.drawFinely, stillMs);
  };

  /** Without a graphics card edges are coarse while things move; once all is still, they are not. */
  private drawFinely = (): void => {
    if (!this.isSeen || this.renderer.getContext().isContextLost()) return;
    this.renderer.setPixelRatio(finest);
    this.renderer.render(this.world, this.camera);
    this.isFine = true;
  };

  private drawQuickly(): void {
    if (this.isFine) this.renderer.setPixelRatio(1);
    this.isFine = false;
  }

  private onLost = (event: Event): void => {
    event.preventDefault();
    this.budget.forget();
    this.parent.dataset.lost = "true";
  };

  private onRestored = (): void => {
    delete this.parent.dataset.lost;
    this.repaint();
  };
}
