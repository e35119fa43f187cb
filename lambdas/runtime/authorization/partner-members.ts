/** Members in context of the tokens of partners, from stored Groups and Consents. */
import type { MemberLimits } from '../../access/access.ts'
import type { PartnerMembers } from '../../auth/endpoint.ts'
import { findMemberOf } from '../../partners/context/member-in-context.ts'
import type { MemberData } from '../../partners/member-data.ts'
import { windowStartOf } from '../../partners/partner-rules.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Config } from '../config.ts'

/** `index`: returns an index that also finds the latest writes. `reading`: returns the search context of a tenant. */
export type PartnerMemberParts = Pick<MemberData, 'heads'> & {
  readonly index: () => MemberData['index']
  readonly reading: (tenant: string) => SearchContext | Promise<SearchContext>
  readonly config: Pick<Config, 'payer' | 'sensitiveLabels' | 'payerWindowYears' | 'providerSince' | 'timeZone'>
  readonly clock: Pick<Clock, 'now'>
}

export function partnerMembers({ heads, index, reading, config, clock }: PartnerMemberParts): PartnerMembers {
  const { payer, sensitiveLabels, timeZone } = config
  const limitsOf = (kind: PartnerKind, excluded: readonly string[]): MemberLimits => {
    const at = clock.now()
    const windowStart = windowStartOf(kind, config, at, timeZone)
    return { at, excluded, ...(windowStart === undefined ? {} : { windowStart }) }
  }
  return {
    async find({ id: client, partner }, tenant, name) {
      if (partner === undefined) return undefined
      const data: MemberData = { tenant, heads, index: index(), reading: await reading(tenant) }
      const found = await findMemberOf({ ...{ data, client, partner, payer, sensitiveLabels }, now: clock.now() }, name)
      return found && { patient: found.patient, until: found.until, limits: limitsOf(partner.kind, found.excluded) }
    },
    limitsOf: async (kind) => limitsOf(kind, kind === 'payer' && typeof sensitiveLabels !== 'string' ? sensitiveLabels : []),
  }
}
