/**
 * Counts transfers of patient data to apps, as US payers report them each year: the number of members whose data were transferred, and the
 * number of members with several transfers. https://www.ecfr.gov/current/title-42/section-422.119#p-422.119(f)
 */
import type { Transfer } from '../../ports/security/transfers.ts'
import type { MemberPlans } from './member-plans.ts'

/**
 * Counts of one period. `enrollees`: patients whose data were transferred. `repeated`: patients with two or more transfers. `apps`:
 * clients that received data.
 */
export type UsageCounts = { readonly enrollees: number; readonly repeated: number; readonly apps: number }

/** Counts of a year and of each of its months. `month`: as `2026-01`. */
export type PatientAccessUsage = UsageCounts & { readonly months: readonly (UsageCounts & { readonly month: string })[] }

/** Counts the transfers. `tenant`: counts only transfers of this tenant. */
export async function countTransfers(transfers: AsyncIterable<Transfer>, tenant?: string): Promise<PatientAccessUsage> {
  const year = new Tally()
  const months = new Map<string, Tally>()
  for await (const transfer of transfers) {
    if (tenant !== undefined && transfer.tenant !== tenant) continue
    const month = transfer.day.slice(0, 7)
    const tally = months.get(month) ?? new Tally()
    months.set(month, tally)
    for (const each of [year, tally]) each.add(transfer)
  }
  const sorted = [...months].sort(([a], [b]) => (a < b ? -1 : 1))
  return { ...year.counts, months: sorted.map(([month, { counts }]) => ({ month, ...counts })) }
}

/** Counts of the patients with one plan. */
export type PlanUsage = UsageCounts & { readonly plan: string }

/** Name of the plan for patients without a plan. */
const NO_PLAN = 'none'

/**
 * Counts the transfers of each plan, in the order of the plans. A patient with several plans counts in each. `plansOf`: returns the plans of
 * patients of a tenant.
 */
export async function countByPlan(
  transfers: AsyncIterable<Transfer>,
  plansOf: (tenant: string, patients: readonly string[]) => Promise<MemberPlans>,
  tenant?: string,
): Promise<readonly PlanUsage[]> {
  const selected: Transfer[] = []
  for await (const transfer of transfers) if (tenant === undefined || transfer.tenant === tenant) selected.push(transfer)
  const tallies = new Map<string, Tally>()
  for (const [name, all] of Map.groupBy(selected, (each) => each.tenant)) {
    const plans = await plansOf(name, [...new Set(all.map(({ patient }) => patient))])
    for (const transfer of all)
      for (const plan of plans.get(transfer.patient) ?? [NO_PLAN]) {
        const tally = tallies.get(plan) ?? new Tally()
        tallies.set(plan, tally)
        tally.add(transfer)
      }
  }
  const sorted = [...tallies].sort(([a], [b]) => (a < b ? -1 : 1))
  return sorted.map(([plan, { counts }]) => ({ plan, ...counts }))
}

class Tally {
  readonly #patients = new Set<string>()
  readonly #repeated = new Set<string>()
  readonly #apps = new Set<string>()

  add({ tenant, patient, client }: Transfer): void {
    const key = `${tenant}/${patient}`
    if (this.#patients.has(key)) this.#repeated.add(key)
    this.#patients.add(key)
    this.#apps.add(client)
  }

  get counts(): UsageCounts {
    return { enrollees: this.#patients.size, repeated: this.#repeated.size, apps: this.#apps.size }
  }
}
