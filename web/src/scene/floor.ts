// The floor: lines every metre and every tenth, fading out, and the shadows that fall on it.
import {
  Color,
  DoubleSide,
  Group,
  Mesh,
  PlaneGeometry,
  ShaderMaterial,
  ShadowMaterial,
} from "three";

const vertex = `
varying vec2 at;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  at = world.xy;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const fragment = `
uniform vec3 line;
uniform vec3 ground;
uniform vec2 centre;
uniform float reach;
varying vec2 at;
float lines(float size, float width) {
  vec2 place = at / size;
  vec2 edge = abs(fract(place - 0.5) - 0.5) / fwidth(place);
  return 1.0 - min(min(edge.x, edge.y) / width, 1.0);
}
void main() {
  float away = length(at - centre) / reach;
  float fade = 1.0 - smoothstep(0.15, 1.0, away);
  float fine = lines(0.1, 1.0) * (1.0 - smoothstep(0.05, 0.4, away)) * 0.14;
  float mark = max(fine, lines(1.0, 1.3) * 0.38);
  gl_FragColor = vec4(mix(ground, line, mark), fade * max(mark, 0.55));
  #include <colorspace_fragment>
}`;

export class Floor {
  readonly group = new Group();
  private readonly plane = new PlaneGeometry(16, 16);
  private readonly grid = new ShaderMaterial({
    vertexShader: vertex,
    fragmentShader: fragment,
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    uniforms: {
      line: { value: new Color() },
      ground: { value: new Color() },
      centre: { value: [0, 0] },
      reach: { value: 4.5 },
    },
  });
  private readonly shade = new ShadowMaterial({ opacity: 0.5, depthWrite: false });

  constructor() {
    const lines = new Mesh(this.plane, this.grid);
    lines.renderOrder = -2;
    const shadow = new Mesh(this.plane, this.shade);
    shadow.receiveShadow = true;
    shadow.position.z = 0.0005;
    shadow.renderOrder = -1;
    this.group.add(lines, shadow);
  }

  paint(line: Color, ground: Color): void {
    (this.grid.uniforms.line as { value: Color }).value.copy(line);
    (this.grid.uniforms.ground as { value: Color }).value.copy(ground);
  }

  /** Keep the lit part of the floor below what one looks at; the lines stay where they are. */
  centre(x: number, y: number): void {
    this.group.position.set(x, y, 0);
    (this.grid.uniforms.centre as { value: number[] }).value = [x, y];
  }

  dispose(): void {
    this.plane.dispose();
    this.grid.dispose();
    this.shade.dispose();
  }
}
