import { ReviewList } from "./review_list";
import { Workplace } from "./workplace";

export default function Review({ address }: { address: URL }) {
  const name = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  return name ? <Workplace key={name} name={name} /> : <ReviewList />;
}
