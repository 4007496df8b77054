/// <reference types="webxr" />
// The immersive view: cameras and panel hang in the room, and every frame sends its input.
import {
  CanvasTexture,
  DoubleSide,
  Group,
  Mesh,
  MeshBasicMaterial,
  PerspectiveCamera,
  PlaneGeometry,
  Quaternion,
  Raycaster,
  Scene,
  SRGBColorSpace,
  Vector3,
  WebGLRenderer,
} from "three";
import { fitPicture } from "./camera_picture";
import { HeadsetInput } from "./headset_input";
import { buttonAt, buttonsOf, drawPanel, PANEL, type PanelButton } from "./headset_panel";
import type { Link, Picture } from "./link";

const screenM = 1.5;
const panelM = 0.62;
/** The screens stay where they are until the operator looks this far away from them, rad. */
const lazyRad = 0.6;
const followHz = 2;
const panelEveryMs = 100;

export class HeadsetView {
  private readonly world = new Scene();
  private readonly camera = new PerspectiveCamera();
  private readonly hung = new Group();
  private readonly panel: Mesh;
  private readonly ink: CanvasRenderingContext2D;
  private readonly panelTexture: CanvasTexture;
  private readonly screens = new Map<string, CanvasTexture>();
  private readonly unsubscribe: () => void;
  private yaw: number | null = null;
  private isFollowing = false;
  private isNew = true;
  private drawnMs = 0;
  private lastMs = 0;
  private pointed: PanelButton | null = null;
  private hadBothSticks = false;

  /** Must be called by a click: browsers let nothing else open a headset. */
  static async open(link: Link, take: () => void, onEnd: () => void): Promise<HeadsetView> {
    if (!navigator.xr) throw new Error("This browser knows no headset.");
    const session = await navigator.xr.requestSession("immersive-vr", {
      requiredFeatures: ["local-floor"],
      optionalFeatures: ["hand-tracking"],
    });
    const renderer = new WebGLRenderer({ antialias: true });
    renderer.xr.enabled = true;
    renderer.xr.setReferenceSpaceType("local-floor");
    await renderer.xr.setSession(session);
    const space = renderer.xr.getReferenceSpace();
    if (!space) throw new Error("The headset gave no place on the floor.");
    return new HeadsetView(link, take, onEnd, session, renderer, new HeadsetInput(session, space));
  }

  private constructor(
    private readonly link: Link,
    private readonly take: () => void,
    private readonly onEnd: () => void,
    private readonly session: XRSession,
    private readonly renderer: WebGLRenderer,
    private readonly input: HeadsetInput,
  ) {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, PANEL);
    this.ink = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.panelTexture = new CanvasTexture(canvas);
    this.panelTexture.colorSpace = SRGBColorSpace;
    this.panel = flat(panelM, (panelM * PANEL.height) / PANEL.width, this.panelTexture);
    this.panel.position.set(0, 0.86, -0.78);
    this.panel.rotation.x = -0.6;
    this.hung.add(this.panel);
    this.world.add(this.hung);
    this.unsubscribe = link.onPicture(this.showPicture);
    session.addEventListener("visibilitychange", this.tellVisibility);
    session.addEventListener("selectstart", this.press);
    session.addEventListener("select", this.choose);
    session.addEventListener("end", this.ended);
    renderer.setAnimationLoop(this.draw);
  }

  end(): void {
    void this.session.end();
  }

  private draw = (timeMs: number, frame?: XRFrame): void => {
    if (!frame) return;
    const input = this.input.read(timeMs, frame);
    this.link.send(input);
    if (this.isNew && input.head) {
      // The operator's heading counts from here on.
      this.link.command("recenter", "the operator put on the headset");
      this.isNew = false;
    }
    this.stopByBothSticks(input.left?.pressed[3] === true && input.right?.pressed[3] === true);
    this.follow(timeMs, frame);
    if (timeMs - this.drawnMs > panelEveryMs) this.redraw(timeMs, frame);
    this.lastMs = timeMs;
    this.renderer.render(this.world, this.camera);
  };

  private stopByBothSticks(isDown: boolean): void {
    if (isDown && !this.hadBothSticks) this.link.command("stop", "both sticks were pressed");
    this.hadBothSticks = isDown;
  }

  private redraw(timeMs: number, frame: XRFrame): void {
    this.drawnMs = timeMs;
    this.pointed = null;
    for (const source of this.session.inputSources)
      this.pointed = this.aimedAt(source, frame) ?? this.pointed;
    const { state, welcome } = this.link.read();
    drawPanel(this.ink, state, welcome, this.pointed);
    this.panelTexture.needsUpdate = true;
  }

  /** The screens turn after the operator, lazily, and never tilt. */
  private follow(timeMs: number, frame: XRFrame): void {
    const space = this.renderer.xr.getReferenceSpace();
    const head = space && frame.getViewerPose(space)?.transform;
    if (!head) return;
    const { x, y, z, w } = head.orientation;
    const ahead = new Vector3(0, 0, -1).applyQuaternion(new Quaternion(x, y, z, w));
    const yaw = Math.atan2(-ahead.x, -ahead.z);
    if (this.yaw === null) {
      this.yaw = yaw;
      this.hung.position.set(head.position.x, head.position.y - 1.5, head.position.z);
    }
    const off = Math.atan2(Math.sin(yaw - this.yaw), Math.cos(yaw - this.yaw));
    if (Math.abs(off) > lazyRad) this.isFollowing = true;
    if (Math.abs(off) < 0.05) this.isFollowing = false;
    const sinceS = Math.min((timeMs - this.lastMs) / 1000, 0.1);
    if (this.isFollowing) {
      const share = 1 - Math.exp(-followHz * sinceS);
      this.yaw += off * share;
      const there = new Vector3(head.position.x, head.position.y - 1.5, head.position.z);
      this.hung.position.lerp(there, share);
    }
    this.hung.rotation.y = this.yaw;
  }

  private showPicture = async (picture: Picture): Promise<void> => {
    let texture = this.screens.get(picture.head.camera);
    if (!texture) {
      const canvas = document.createElement("canvas");
      texture = new CanvasTexture(canvas);
      texture.colorSpace = SRGBColorSpace;
      await fitPicture(canvas, picture);
      const place = this.screens.size;
      const width = place === 0 ? screenM : screenM / 3;
      const screen = flat(width, (width * canvas.height) / Math.max(canvas.width, 1), texture);
      // The first camera ahead, the others small beside it.
      screen.position.set(place === 0 ? 0 : 1.05, 1.5 - 0.45 * Math.max(place - 1, 0), -1.7);
      this.screens.set(picture.head.camera, texture);
      this.hung.add(screen);
    } else await fitPicture(texture.image as HTMLCanvasElement, picture);
    texture.needsUpdate = true;
  };

  private aimedAt(source: XRInputSource, frame: XRFrame): PanelButton | null {
    const space = this.renderer.xr.getReferenceSpace();
    const ray = space && frame.getPose(source.targetRaySpace, space)?.transform;
    if (!ray) return null;
    const { x, y, z, w } = ray.orientation;
    const from = new Vector3(ray.position.x, ray.position.y, ray.position.z);
    const along = new Vector3(0, 0, -1).applyQuaternion(new Quaternion(x, y, z, w));
    this.world.updateMatrixWorld();
    const [hit] = new Raycaster(from, along).intersectObject(this.panel);
    const { state, welcome } = this.link.read();
    return hit?.uv ? buttonAt(buttonsOf(state, welcome), hit.uv.x, hit.uv.y) : null;
  }

  /** Stop does not wait until the pinch or the trigger is let go. */
  private press = (event: XRInputSourceEvent): void => {
    if (this.aimedAt(event.inputSource, event.frame)?.command === "stop")
      this.link.command("stop", "panel in the headset");
  };

  private choose = (event: XRInputSourceEvent): void => {
    const button = this.aimedAt(event.inputSource, event.frame);
    if (button?.command === "take") this.take();
    else if (button && button.command !== "stop")
      this.link.command(button.command, "panel in the headset");
  };

  private tellVisibility = (): void => {
    if (this.session.visibilityState !== "visible")
      this.link.send(this.input.blind(performance.now()));
  };

  private ended = (): void => {
    this.link.send(this.input.blind(performance.now()));
    this.unsubscribe();
    this.input.close();
    this.renderer.setAnimationLoop(null);
    this.world.traverse((each) => {
      if (each instanceof Mesh) each.geometry.dispose();
    });
    for (const texture of [this.panelTexture, ...this.screens.values()]) texture.dispose();
    this.renderer.dispose();
    this.onEnd();
  };
}

function flat(width: number, height: number, map: CanvasTexture): Mesh {
  const material = new MeshBasicMaterial({ map, side: DoubleSide, toneMapped: false });
  return new Mesh(new PlaneGeometry(width, height), material);
}
