/**
 * `$everything` of a patient: returns the Patient, the resources of the patient, and the resources that these refer to. No resource appears
 * on two pages. https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import type { BundleEntry } from '../../fhir/bundle.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { keyOf, nameOf } from '../resources/request-key.ts'
import { shownEntry } from '../resources/shown-entry.ts'
import { readCurrentVersion } from '../resources/version-response.ts'
import { withMemberData } from '../searching/member-data.ts'
import { MAX_PAGE_BYTES } from '../searching/page-limits.ts'
import { type EverythingPosition, type EverythingRequest, everythingLinksOf, parseEverythingRequest } from './everything-request.ts'
import { LinkedResources, ReadBudget, readLinkedVersions } from './linked-resources.ts'
import { type PatientRecord, type RecordPorts, readRecordVersions, recordOf, VERSIONS_PER_READ } from './patient-record.ts'

export const everything =
  (ports: RecordPorts): Interaction =>
  async (received) => {
    checkLevel(received)
    const request = await withMemberData(ports, received)
    const asked = parseEverythingRequest(ports, request)
    const patient = await readCurrentVersion(ports.resources(request, 'r', 's'), keyOf(request))
    const record = recordOf(ports, request, asked, patient)
    const page = new Page(request, asked)
    const next = await filled(page, record, asked.place ?? begun(page, record))
    const isWhole = asked.place === undefined && next === undefined
    return {
      status: 200,
      body: {
        kind: 'bundle',
        type: 'searchset',
        ...(isWhole ? { total: page.matches } : {}),
        link: everythingLinksOf(ports, request, asked, next),
        entries: page.entries,
      },
    }
  }

function checkLevel({ type, id }: FhirRequest): void {
  if (type !== 'Patient') throw fhirError(404, 'not-supported', `There is no $everything of ${type}: only of a Patient`)
  if (id === undefined) throw ofAllPatients()
}

const ofAllPatients = (): FhirError =>
  fhirError(403, 'too-costly', 'Everything of all patients is for an export: GET Patient/$export, with Prefer: respond-async')

/** Approximate bytes of an entry without its resource, for the size of the page. */
const ENTRY = 200

/** Entries of one page. It accepts entries up to `_count` and MAX_PAGE_BYTES. */
class Page {
  readonly entries: BundleEntry[] = []
  matches = 0
  readonly #request: FhirRequest
  readonly #count: number
  #bytes = 0

  constructor(request: FhirRequest, { count = Number.POSITIVE_INFINITY }: EverythingRequest) {
    this.#request = request
    this.#count = count
  }

  /** Number of entries that `_count` still allows. The bytes may allow fewer. */
  get room(): number {
    return this.#count - this.entries.length
  }

  /** Adds the version and returns true, or returns false if the page is full. The first entry always fits. */
  add(version: ResourceVersion, mode: 'match' | 'include'): boolean {
    const bytes = this.#bytes + version.body.length + ENTRY
    if (this.entries.length > 0 && (this.room <= 0 || bytes > MAX_PAGE_BYTES)) return false
    this.#bytes = bytes
    if (mode === 'match') this.matches++
    this.entries.push(shownEntry(this.#request, version, { search: { mode } }))
    return true
  }
}

function begun(page: Page, record: PatientRecord): EverythingPosition {
  if (record.isShown(record.patient)) page.add(record.patient, 'match')
  return { in: 'own' }
}

/** Fills the page from this position. Returns the position of the next page, or undefined if this page is the last. */
async function filled(page: Page, record: PatientRecord, place: EverythingPosition): Promise<EverythingPosition | undefined> {
  const work = new ReadBudget()
  let gathering: LinkedResources | undefined
  if (place.in === 'own') {
    gathering = new LinkedResources(record)
    const isToldOfAll = place.after === undefined && record.sources === 'own'
    const next = await filledWithOwn(page, record, place, work, isToldOfAll ? gathering : undefined)
    if (next !== undefined) return next
    if (record.referred.size === 0) return undefined
  } else gathering = await LinkedResources.resumed(record, place.kept)
  if (place.in !== 'referred' && !(await gathering.goOn(work))) return { in: 'gathering', kept: await gathering.keep() }
  return filledWithReferred(page, record, gathering, place.in === 'referred' ? place.after : undefined, work)
}

/**
 * Adds the resources of the patient until the page or the read budget is full. `gathering`: also collects the references of the read
 * resources. Present only if the page starts at the first resource, and references are collected from the shown resources.
 */
async function filledWithOwn(
  page: Page,
  record: PatientRecord,
  { after }: Extract<EverythingPosition, { in: 'own' }>,
  work: ReadBudget,
  gathering: LinkedResources | undefined,
): Promise<EverythingPosition | undefined> {
  let last = after
  for await (const versions of readRecordVersions(record, record.own, after, page.room + 1)) {
    for (const version of versions) {
      if (!page.add(version, 'match')) return { in: 'own', ...(last === undefined ? {} : { after: last }) }
      last = { type: version.type, id: version.id }
    }
    await gathering?.addOwn(versions)
    if (work.spend(versions) && last !== undefined) return { in: 'own', after: last }
  }
  await gathering?.addOwn([])
  return undefined
}

async function filledWithReferred(
  page: Page,
  record: PatientRecord,
  gathering: LinkedResources,
  after: string | undefined,
  work: ReadBudget,
): Promise<EverythingPosition | undefined> {
  const { names } = gathering
  let last = after
  const nextFrom = async (): Promise<EverythingPosition> => ({
    in: 'referred',
    kept: await gathering.keep(),
    ...(last === undefined ? {} : { after: last }),
  })
  for (let at = after === undefined ? 0 : names.indexOf(after) + 1; at < names.length; ) {
    const { versions, read } = await readLinkedVersions(record, names.slice(at, at + VERSIONS_PER_READ))
    for (const version of versions) {
      if (record.isShown(version) && !page.add(version, 'include')) return nextFrom()
      last = nameOf(version)
    }
    // Advance by the number of names looked up, because resources may be missing: then `versions` has fewer items.
    at += read
    last = names[at - 1]
    if (work.spend(versions, read) && at < names.length) return nextFrom()
  }
  return undefined
}
