// Answers of the server as tests need them, with only what matters said anew.
import type { EpisodeDetail, EpisodeFinding, Taxonomy } from "../api/schema";
import type { Bench } from "../pages/annotate/use_bench";

export function sampleFinding(changed: Partial<EpisodeFinding> = {}): EpisodeFinding {
  return {
    number: 3,
    check: "robot_fell",
    severity: "fail",
    stream: "observations/base_pose",
    value: 0.31,
    limit: 0.5,
    unit: "m",
    message: "The base is 0.31 m high.",
    spans: [{ first: 30, stop: 31, start_ns: 1_500_000_000, end_ns: 1_600_000_000 }],
    evidence: null,
    ...changed,
  };
}

export function sampleEpisode(changed: Partial<EpisodeDetail> = {}): EpisodeDetail {
  return {
    id: "e1",
    decision: null,
    tags: [],
    epoch_ns: "0",
    start_ns: 0,
    end_ns: 4_000_000_000,
    row: { id: "e1", file: "e1.h5", task: "pick_place", verdict: "failed" } as EpisodeDetail["row"],
    metadata: {},
    streams: [],
    findings: [],
    not_assessed: [],
    checks: 90,
    checked: true,
    assessments: [],
    protocol: null,
    adherence: [],
    scores: [],
    lanes: [],
    releases: [],
    ...changed,
  };
}

const taxonomy: Pick<Taxonomy, "requirements" | "failure_modes" | "grasp_types"> = {
  requirements: [
    {
      task: "pick_place",
      phrases: [],
      lanes: [],
      order: [],
      may_lack: [],
      outcome: true,
      instructions: 0,
      variants: ["left_first"],
    },
  ],
  failure_modes: [
    { name: "dropped_object", definition: "It fell from the hand.", examples: [] },
    { name: "robot_fell", definition: "The robot lies on the floor.", examples: [] },
  ],
  grasp_types: [
    { name: "power", definition: "With the whole hand.", examples: [] },
    { name: "pinch", definition: "Between two fingers.", examples: [] },
  ],
};

/** The part of a workbench that the panels at its side read. */
export function sampleBench(
  content: Partial<Bench["content"]>,
  changed: Partial<Bench> = {},
): Bench {
  return {
    task: { id: "task" },
    episode: sampleEpisode(),
    taxonomy: taxonomy as Taxonomy,
    content: {
      reference: "",
      segments: [],
      instructions: [],
      corrections: [],
      poses: [],
      outcome: null,
      failure_mode: null,
      variant: null,
      flags: [],
      ...content,
    },
    canEdit: true,
    do: () => true,
    ...changed,
  } as Bench;
}
