/**
 * Provenance of an export for a partner: this payer transmitted the data. An export contains it in addition to the stored ones.
 * http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-provenance, requirement pdex-127
 */
import { createHash } from 'node:crypto'
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import type { Resource } from '../../fhir/resource.ts'

/** Payer that runs the server. `identifier`: absent if the settings name none. */
export type TransmittingPayer = { readonly name: string; readonly identifier?: IdentifierText }

/** Maximum Patients that one Provenance has as targets. */
const MOST_TARGETS = 1_000

const TRANSMITTER = { system: 'http://hl7.org/fhir/us/core/CodeSystem/us-core-provenance-participant-type', code: 'transmitter' }
const PROFILE = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-provenance'

/**
 * Returns the Provenances of an export. Their ids derive from the id of the job, so that a repeated step writes the same ones. `patients`: as
 * `Patient/1`. `at`: transaction time in milliseconds since 1970.
 */
export function transmissionsOf(
  { id, at, patients }: { readonly id: string; readonly at: number; readonly patients: readonly string[] },
  { name, identifier }: TransmittingPayer,
): readonly Resource[] {
  const who = { ...(identifier === undefined ? {} : { identifier }), display: name }
  const count = Math.ceil(patients.length / MOST_TARGETS)
  return Array.from({ length: count }, (_, i) => ({
    resourceType: 'Provenance',
    id: createHash('sha256').update(`${id} ${i}`).digest('hex'),
    meta: { profile: [PROFILE] },
    target: patients.slice(i * MOST_TARGETS, (i + 1) * MOST_TARGETS).map((reference) => ({ reference })),
    recorded: new Date(at).toISOString(),
    agent: [{ type: { coding: [TRANSMITTER] }, who }],
  }))
}
