import type { Payload } from "../../api/dashboards";
import { asTable } from "./as_table";
import { BarsChart } from "./bars_chart";
import { ChartRoom, useRoom } from "./chart_room";
import { FiguresView } from "./figures_view";
import { HeatTable } from "./heat_table";
import { HistogramChart } from "./histogram_chart";
import { LineChart } from "./line_chart";
import { PlainTable } from "./plain_table";
import { StackedColumns } from "./stacked_columns";
import { StackedRows } from "./stacked_rows";
import { TrendLines } from "./trend_lines";

/** A payload in the drawing that its kind asks for, as high as there is room. */
export function ChartMarks({ payload }: { payload: Payload }) {
  const [ref, room] = useRoom();
  return (
    <div className="chart-marks" ref={ref}>
      <ChartRoom value={room}>
        <Marks payload={payload} />
      </ChartRoom>
    </div>
  );
}

function Marks({ payload }: { payload: Payload }) {
  switch (payload.kind) {
    case "line":
      return <LineChart line={payload} />;
    case "bars":
      return <BarsChart bars={payload} />;
    case "stacked":
      return payload.standing ? (
        <StackedColumns stacked={payload} />
      ) : (
        <StackedRows stacked={payload} />
      );
    case "heat":
      return payload.as_lines ? <TrendLines heat={payload} /> : <HeatTable heat={payload} />;
    case "histogram":
      return <HistogramChart histogram={payload} />;
    case "table":
      return <PlainTable table={asTable(payload)} tones={payload.rows.map((each) => each.tone)} />;
    case "figures":
      return <FiguresView figures={payload} />;
  }
}
