/**
 * Exports for partners: what `Group/[id]/$davinci-data-export` adds to an export of a Group.
 * http://hl7.org/fhir/us/davinci-atr/OperationDefinition/davinci-data-export, http://hl7.org/fhir/us/davinci-pdex/
 */
import type { View } from '../access/view/view-rules.ts'
import type { IdentifierText } from '../fhir/identifier-text.ts'
import { type FhirError, fhirError } from '../fhir/outcome.ts'
import type { SensitiveLabels } from '../partners/consent/payer-consent.ts'
import { type WindowSettings, windowStartOf } from '../partners/partner-rules.ts'
import type { Partner } from '../ports/rows/clients.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'

/**
 * Export for a partner. `type`: its export type. `view`: kind of the partner, and view of the resources in its files. `identifiers`:
 * identifiers of the partner; absent for a client of the payer itself. `basis`: canonical URLs of the profiles of claims without amounts
 * that were loaded at the kick-off; absent: none.
 */
export type PartnerExport = {
  readonly type: string
  readonly view: View
  readonly identifiers?: readonly IdentifierText[]
  readonly basis?: readonly string[]
}

/** Settings of exports for partners. `payer`: identifiers of the payer that runs the server. */
export type PartnerSettings = WindowSettings & { readonly payer: readonly IdentifierText[]; readonly sensitiveLabels: SensitiveLabels }

export const EXPORT_TYPE_PARAMETER = 'exportType'

/** `types`: resource types. `isDelta`: the request must have `_since`. `hasWindow`: the export omits older resources. */
type ExportType = {
  readonly view: View
  readonly types: 'record' | 'attribution'
  readonly isDelta?: true
  readonly hasWindow: boolean
}

const PROVIDER: ExportType = { view: 'provider', types: 'record', hasWindow: true }

/** Export types of the guides. The first type of a kind is its default. */
const EXPORT_TYPES: Readonly<Record<string, ExportType>> = {
  'hl7.fhir.us.davinci-pdex#payertopayer': { view: 'payer', types: 'record', hasWindow: true },
  'hl7.fhir.us.davinci-pdex#provider-download': PROVIDER,
  'hl7.fhir.us.davinci-pdex#provider-snapshot': PROVIDER,
  'hl7.fhir.us.davinci-pdex#provider-delta': { ...PROVIDER, isDelta: true },
  'hl7.fhir.us.davinci-atr': { view: 'provider', types: 'attribution', hasWindow: false },
}

/** Returns the rules of the export type of a job. */
export const exportTypeOf = ({ type }: PartnerExport): ExportType => EXPORT_TYPES[type]!

/**
 * Returns the export that the parameters request. `partner`: the caller; undefined for a client of the payer itself, which must name the
 * export type. Throws FhirError 400 for an export type that is missing, unknown or named twice, and 403 for a type of another kind.
 */
export function partnerExportOf(parameters: ParameterPairs, partner: Partner | undefined): PartnerExport {
  const kind = partner?.kind
  const [asked, second] = parameters.flatMap(([name, value]) => (name === EXPORT_TYPE_PARAMETER ? [value] : []))
  if (second !== undefined) throw fhirError(400, 'duplicate', 'exportType is given twice')
  const type = asked ?? Object.keys(EXPORT_TYPES).find((each) => EXPORT_TYPES[each]!.view === kind)
  if (type === undefined) throw invalidType('exportType is missing')
  const view = Object.hasOwn(EXPORT_TYPES, type) ? EXPORT_TYPES[type]!.view : undefined
  if (view === undefined) throw invalidType(`exportType is ${JSON.stringify(type.slice(0, 100))}`)
  // guard: export-type-of-own-kind
  if (kind !== undefined && kind !== view) throw fhirError(403, 'forbidden', `The exportType ${type} is for a ${view}. Nothing was started`)
  return { type, view, ...(partner === undefined ? {} : { identifiers: partner.identifiers }) }
}

const invalidType = (text: string): FhirError =>
  fhirError(400, 'value', `${text}: this server exports ${Object.keys(EXPORT_TYPES).join(', ')}`)

/** Returns the instant of the oldest resources of an export, or undefined if it has no time window. `now`: time of the kick-off. */
export const exportWindowOf = (partner: PartnerExport, settings: WindowSettings, now: number, timeZone?: string): number | undefined =>
  exportTypeOf(partner).hasWindow ? windowStartOf(partner.view, settings, now, timeZone) : undefined
