/**
 * Omissions: resources that may belong to an export, but are damaged or cannot be checked. The error file reports each once, whichever
 * writer finds it. It names a resource only to a client that may see its whole type. A damaged resource may belong to any patient, so a partner
 * learns only that one may be missing, unless it is a Patient of the export.
 * Until the job ends, each writer collects the lines in a file of its own. That file is smaller than a part, so it is always in tails.
 */
import { isWholeType, ruleFor } from '../../access/rules.ts'
import type { Letter } from '../../access/scopes.ts'
import { operationOutcomeOf } from '../../fhir/outcome.ts'
import { isAlwaysFalse } from '../../ports/search/plan.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import { ExportFault } from '../job/export-fault.ts'
import { OMISSION_TEXTS, type OmissionReason } from '../select/omission-reason.ts'
import type { Selection } from '../select/selection.ts'
import type { FileWriter } from './file-writer.ts'

/** Name of the file in which a writer collects omissions. */
export const OMISSIONS_FILE = 'left-out'

/** Maximum omissions that a writer, or all writers together, may report. Above it the job fails. */
const MAX_OMISSIONS = 10_000

/** Throws ExportFault if there are more than MAX_OMISSIONS: such an export would be useless. */
export function checkOmissionCount(count: number): void {
  if (count > MAX_OMISSIONS)
    throw new ExportFault(
      `More than ${MAX_OMISSIONS} resources cannot be exported: what is stored of them is damaged, or a _typeFilter cannot be evaluated on them`,
    )
}

export class Omissions {
  readonly #writer: Pick<FileWriter, 'add' | 'countOf'>
  readonly #selection: Selection
  readonly #reported = new Set<string>()

  constructor(writer: Pick<FileWriter, 'add' | 'countOf'>, selection: Selection) {
    this.#writer = writer
    this.#selection = selection
  }

  add(key: ResourceKey, reason: OmissionReason): void {
    const name = nameFor(this.#selection, key, reason)
    if (name === undefined) return
    const text = `${name} may be missing: ${OMISSION_TEXTS[reason]}`
    if (this.#reported.has(text)) return
    this.#reported.add(text)
    this.#writer.add(OMISSIONS_FILE, Buffer.from(JSON.stringify(operationOutcomeOf([{ severity: 'error', code: 'incomplete', text }]))))
    checkOmissionCount(this.#writer.countOf(OMISSIONS_FILE))
  }
}

/**
 * Returns the text for an omission: type and id, or only the type for a client that may not see the whole type. For a partner, the text for a damaged
 * resource has neither, unless it is a Patient of the export or the exported Group. Returns undefined for an omission that is not reported: the
 * resource was not requested, is out of scope, or is another damaged Patient or Group of a partner's export.
 */
function nameFor(selection: Selection, { type, id }: ResourceKey, reason: OmissionReason): string | undefined {
  const { judge, types, job } = selection
  if (!(types.has(type) || type === 'Patient' || (job.asked.types?.includes(type) ?? true))) return undefined
  const { access, reading } = judge
  // A partner receives a Binary only by a reference, so reading decides.
  const letters: readonly Letter[] = job.partner !== undefined && type === 'Binary' ? ['r'] : ['r', 's']
  const rules = letters.map((letter) => ruleFor(access, type, letter, reading))
  if (rules.some((rule) => rule === undefined || isAlwaysFalse(rule))) return undefined
  // guard: partner-learns-no-damage-of-others
  if (job.partner !== undefined && reason === 'damaged' && !isExportedPatientOrGroup(selection, type, id))
    return type === 'Patient' || type === 'Group' ? undefined : 'A resource'
  // guard: omission-needs-whole-type
  const isWhole = isWholeType(access, type, 'r', reading) && isWholeType(access, type, 's', reading)
  return isWhole ? `${type}/${id}` : `A resource of type ${type}`
}

/** Whether the id alone shows that the resource belongs to the export. */
const isExportedPatientOrGroup = ({ jobScope: { patients }, job }: Selection, type: string, id: string): boolean =>
  type === 'Group' ? id === job.group : type === 'Patient' && patients?.has(`Patient/${id}`) === true
