/** Members in context of the tokens of partners, from stored Groups and Consents. Each is recorded before its token is issued. */
import type { MemberLimits } from '../../access/access.ts'
import type { PartnerMembers } from '../../auth/endpoint.ts'
import { yieldIfDue } from '../../interactions/time-slices.ts'
import { findMemberOf } from '../../partners/context/member-in-context.ts'
import { writeDisclosures } from '../../partners/disclosures/disclosures.ts'
import type { MemberData } from '../../partners/member-data.ts'
import { windowStartOf } from '../../partners/partner-rules.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Config } from '../config.ts'

/** `index`: returns an index that also finds the latest writes. `reading`: returns the search context of a tenant. */
export type PartnerMemberParts = Pick<MemberData, 'heads'> & {
  readonly index: () => MemberData['index']
  readonly reading: (tenant: string) => SearchContext | Promise<SearchContext>
  readonly config: Pick<Config, 'payer' | 'sensitiveLabels' | 'payerWindowYears' | 'providerSince' | 'timeZone'>
  readonly clock: Clock
  readonly disclosures: Pick<BlobStore, 'put'>
}

export function partnerMembers({ heads, index, reading, config, clock, disclosures }: PartnerMemberParts): PartnerMembers {
  const { payer, sensitiveLabels, timeZone } = config
  const limitsOf = (kind: PartnerKind, excluded: readonly string[]): MemberLimits => {
    const at = clock.now()
    const windowStart = windowStartOf(kind, config, at, timeZone)
    return { at, excluded, ...(windowStart === undefined ? {} : { windowStart }) }
  }
  return {
    async find({ id: client, partner }, tenant, name) {
      if (partner === undefined) return undefined
      const data: MemberData = { tenant, heads, index: index(), reading: await reading(tenant), pause: yieldIfDue }
      const found = await findMemberOf({ ...{ data, client, partner, payer, sensitiveLabels }, now: clock.now() }, name)
      if (found === undefined) return undefined
      const { patient, group, until, excluded } = found
      const limits = limitsOf(partner.kind, excluded)
      const { at, windowStart } = limits
      await writeDisclosures(
        disclosures,
        {
          ...{ kind: 'token', at, tenant, job: clock.newId(), partner: client, grounds: [`Group/${group}`] },
          ...(windowStart === undefined ? {} : { windowStart }),
        },
        [{ patient: `Patient/${patient}`, outcome: 'opened' }],
      )
      return { patient, until, limits }
    },
    limitsOf: async (kind) => limitsOf(kind, kind === 'payer' && typeof sensitiveLabels !== 'string' ? sensitiveLabels : []),
  }
}
