/** Groups of members who opted out. http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-opt-out */
import { sliceArray } from '../../fhir/json-slices.ts'
import { toLocalReference } from '../../fhir/references.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { OPT_OUT_GROUP, OPT_OUT_SCOPES } from '../codes.ts'
import { codesOf, covers, itemsOf, referenceOf } from '../elements.ts'
import { type MemberData, readBodies } from '../member-data.ts'
import { findIdsByPatients, patientNameOf } from './patient-lookup.ts'

/** Scopes of Groups that do not apply to partners of a kind. Every other scope applies to them, and so does a Group without a scope. */
const SCOPES_OF_OTHERS: Readonly<Record<PartnerKind, readonly string[]>> = {
  payer: ['provider-specific', 'provider-category'],
  provider: ['payer-specific'],
}

/**
 * Maximum Patients for which a Group is searched instead of parsing all its members. Searching for 20 takes a quarter of the time of parsing
 * all.
 */
const FEW = 20

/** Maximum members of all Groups that are cached. Above it the cache is emptied. */
const MAX_CACHED = 1_000_000

/**
 * Opt-out Groups that apply to partners of a kind, as of an instant. For many Patients it reads each Group once, because a Group may have
 * hundreds of thousands of members, and many lookups find it. For few Patients it parses only the parts of a Group that may name them.
 */
export class OptOutGroups {
  readonly #data: MemberData
  readonly #kind: PartnerKind
  readonly #now: number
  readonly #members = new Map<string, ReadonlySet<string>>()
  #cached = 0

  /** `now`: milliseconds since 1970. */
  constructor(data: MemberData, kind: PartnerKind, now: number) {
    this.#data = data
    this.#kind = kind
    this.#now = now
  }

  /**
   * Returns the ids that are members of a Group. `ids`: ids of Patients. `leaveUnread`: receives the ids with more Groups than the limit.
   */
  async find(ids: readonly string[], leaveUnread: (id: string) => void): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    const groups = new Set<string>()
    const query = (asked: readonly string[]) =>
      [
        ['member', asked.map(patientNameOf).join(',')],
        ['_profile', OPT_OUT_GROUP],
      ] as const
    for await (const each of findIdsByPatients(this.#data, 'Group', ids, query, leaveUnread)) for (const id of each) groups.add(id)
    for (const id of groups) {
      const members = this.#members.get(id) ?? (ids.length <= FEW ? await this.#read(id, ids) : await this.#readAll(id))
      for (const each of ids) if (members.has(patientNameOf(each))) found.add(each)
    }
    return found
  }

  async #readAll(id: string): Promise<ReadonlySet<string>> {
    const members = await this.#read(id)
    if (this.#cached + members.size > MAX_CACHED) {
      this.#members.clear()
      this.#cached = 0
    }
    this.#members.set(id, members)
    this.#cached += members.size
    return members
  }

  /** Returns the members whose opt-out is in force, as `Patient/1`. `asked`: Patients of which none may be left out; absent: all. */
  async #read(id: string, asked?: readonly string[]): Promise<ReadonlySet<string>> {
    const [body] = await readBodies(this.#data, 'Group', [id])
    if (body === undefined) return NONE
    const { reading, pause } = this.#data
    const { slices, rest } = await sliceArray(body, 'member', pause)
    const group: unknown = JSON.parse(Buffer.concat(rest).toString())
    if (!isElement(group) || !this.#isInForce(group)) return NONE
    const members = new Set<string>()
    const add = ({ entity, inactive, period }: Element): void => {
      const name = inactive !== true && this.#isNow(period) ? toLocalReference(referenceOf(entity) ?? '', reading) : undefined
      if (name !== undefined) members.add(name)
    }
    itemsOf(group.member).forEach(add)
    for (const slice of slices) {
      await pause?.()
      if (asked === undefined || mayName(slice, asked)) itemsOf(JSON.parse(`[${slice}]`)).forEach(add)
    }
    return members
  }

  #isInForce({ active, characteristic }: Element): boolean {
    if (active === false) return false
    const scoped = itemsOf(characteristic).flatMap(({ valueCodeableConcept, period }) =>
      codesOf(valueCodeableConcept, OPT_OUT_SCOPES).map((scope) => ({ scope, period })),
    )
    const others = SCOPES_OF_OTHERS[this.#kind]
    return scoped.length === 0 || scoped.some(({ scope, period }) => !others.includes(scope) && this.#isNow(period))
  }

  #isNow = (period: unknown): boolean => covers(period, this.#now, this.#data.reading.timeZone)
}

const NONE: ReadonlySet<string> = new Set()

/** Whether JSON may name one of the Patients: it has the name, or an escape behind which a name could hide. */
function mayName(json: Buffer, ids: readonly string[]): boolean {
  // guard: opt-out-behind-escape
  return json.includes('\\') || ids.some((id) => json.includes(patientNameOf(id)))
}
