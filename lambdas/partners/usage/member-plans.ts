/** Plans of members, from their Coverages. */
import { covers, hasCode, itemsOf, textOf } from '../elements.ts'
import { findCurrent, type MemberData, patientIdOf } from '../member-data.ts'

/** Class of a Coverage that names a plan. https://hl7.org/fhir/R4/valueset-coverage-class.html */
const PLAN = { system: 'http://terminology.hl7.org/CodeSystem/coverage-class', code: 'plan' }

/**
 * Maximum patients of one search, and maximum Coverages that it reads. A search that finds more is divided. Further Coverages of one
 * patient do not count.
 */
const PATIENTS = 100
const COVERAGES = 1_000

/** Plans by the id of their patient. A patient without a plan is absent. */
export type MemberPlans = ReadonlyMap<string, readonly string[]>

/** Returns the plans of the active Coverages that cover `now`, in milliseconds since 1970. `patients`: ids. */
export async function findMemberPlans(data: MemberData, patients: readonly string[], now: number): Promise<MemberPlans> {
  const plans = new Map<string, readonly string[]>()
  const search = async (some: readonly string[]): Promise<void> => {
    const criteria = some.map((id) => `Patient/${id}`).join(',')
    const { resources, more } = await findCurrent(data, 'Coverage', [['beneficiary', criteria]], COVERAGES)
    if (more && some.length > 1) {
      const half = Math.ceil(some.length / 2)
      await search(some.slice(0, half))
      return search(some.slice(half))
    }
    for (const { status, period, beneficiary, class: classes } of resources) {
      const patient = patientIdOf(beneficiary, data)
      if (patient === undefined || status !== 'active' || !covers(period, now, data.reading.timeZone)) continue
      const own = itemsOf(classes).flatMap(({ type, value }) => (hasCode(type, PLAN) ? (textOf(value) ?? []) : []))
      if (own.length > 0) plans.set(patient, [...new Set([...(plans.get(patient) ?? []), ...own])].toSorted())
    }
  }
  for (let first = 0; first < patients.length; first += PATIENTS) await search(patients.slice(first, first + PATIENTS))
  return plans
}
