import { useState } from "react";
import type { RoleFacts } from "../../api/schema";

/** Adds a person or a program, with a role whose powers are spelt out. */
export function NewAccountForm({
  roles,
  onAdd,
}: {
  roles: RoleFacts[];
  onAdd: (name: string, role: string) => Promise<void>;
}) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState("");
  const role = roles.find((each) => each.name === chosen) ?? roles[0];
  if (!role) return null;
  return (
    <form
      className="card accounts-new"
      onSubmit={(event) => {
        event.preventDefault();
        void onAdd(name.trim(), role.name).then(() => setName(""));
      }}
    >
      <label>
        Name
        <input
          value={name}
          maxLength={64}
          placeholder="ada"
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label>
        Role
        <select value={role.name} onChange={(event) => setChosen(event.target.value)}>
          {roles.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
      </label>
      <button type="submit" className="primary" disabled={!name.trim()}>
        Add
      </button>
      <p className="muted">May {role.may.join("; ")}.</p>
    </form>
  );
}
