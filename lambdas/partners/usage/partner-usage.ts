/** Counts what partners requested and received. */
import type { Disclosure } from '../disclosures/disclosures.ts'

/** Counts of one partner. `requests`: matches and exports. `matched`, `exported`: distinct members. */
export type PartnerUsage = { readonly partner: string; readonly requests: number; readonly matched: number; readonly exported: number }

export async function countDisclosures(disclosures: AsyncIterable<Disclosure>): Promise<readonly PartnerUsage[]> {
  const partners = new Map<string, { readonly jobs: Set<string>; readonly matched: Set<string>; readonly exported: Set<string> }>()
  for await (const { kind, partner, tenant, job, patient, outcome } of disclosures) {
    if (kind === 'token') continue
    const counted = partners.get(partner) ?? { jobs: new Set(), matched: new Set(), exported: new Set() }
    partners.set(partner, counted)
    counted.jobs.add(job)
    if (patient === undefined) continue
    if (outcome === 'matched') counted.matched.add(`${tenant}/${patient}`)
    if (outcome === 'exported') counted.exported.add(`${tenant}/${patient}`)
  }
  return [...partners]
    .map(([partner, { jobs, matched, exported }]) => ({ partner, requests: jobs.size, matched: matched.size, exported: exported.size }))
    .sort((a, b) => (a.partner < b.partner ? -1 : 1))
}
