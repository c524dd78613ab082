/** What follows from the equations: sizes, parameters, the derived backward step. */

import type { CellAnswer } from "../../answers";
import { Panel } from "../../parts/panel";

export function Tables({ cell }: { cell: CellAnswer }) {
  return (
    <div class="cell-tables">
      <Panel title="Lines">
        <div class="scroll">
          <table data-role="lines-table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Size</th>
                <th scope="col">Equation</th>
              </tr>
            </thead>
            <tbody>
              {cell.sizes.map(({ name, shape, role }) => (
                <tr key={`${role} ${name}`}>
                  <td class="mono">{name}</td>
                  <td class="mono">{shape}</td>
                  <td class="faint">{role}</td>
                </tr>
              ))}
              {cell.lines.map(({ name, text, size }) => (
                <tr key={name} data-name={name}>
                  <td class="mono">{name}</td>
                  <td class="mono">{size}</td>
                  <td class="mono nowrap">{text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      <Panel title="Parameters">
        <div class="scroll">
          <table data-role="parameters-table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Shape</th>
                <th scope="col" class="number">
                  Numbers
                </th>
              </tr>
            </thead>
            <tbody>
              {cell.parameters.map(({ name, shape, count }) => (
                <tr key={name} data-name={name} data-value={count}>
                  <td class="mono">{name}</td>
                  <td class="mono">{shape}</td>
                  <td class="mono number">{whole(count)}</td>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row" colSpan={2}>
                  in all
                </th>
                <td class="mono number" data-role="total" data-value={cell.total}>
                  {whole(cell.total)}
                </td>
              </tr>
            </tfoot>
          </table>
        </div>
      </Panel>
      <Listing
        title="Backward, one step"
        note="Derived from the equations: dv stands for ∂L/∂v."
        role="backward"
        lines={cell.backward}
      />
      <div>
        <Listing title="Parameter gradients" role="gradients" lines={cell.gradients} />
        <Listing title="Over time" role="time" lines={cell.time} />
      </div>
    </div>
  );
}

function Listing({ title, note, role, lines }: { title: string; note?: string; role: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <Panel title={title} note={note}>
      <pre class="listing" data-role={role}>
        {lines.join("\n")}
      </pre>
    </Panel>
  );
}

function whole(count: number): string {
  return count.toLocaleString("en");
}
