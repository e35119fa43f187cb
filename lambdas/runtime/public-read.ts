/** Checks of the settings of public read that need other settings or the search parameters. */
import { parsePublicScopes } from '../access/public-access.ts'
import { isDecidable } from '../access/scope-conditions.ts'
import { isTenant } from '../access/verification/tenant-claim.ts'
import { type Config, variableOf } from './config.ts'
import { searchContextOf } from './search-context.ts'

/**
 * Throws a RangeError if public read is not possible with the other settings, or if a condition is not decidable by search parameters of
 * R4. SearchParameters of tenants and packages cannot be used in a condition, because their authors would then decide which data is public.
 */
export function checkPublicRead(config: Config): void {
  const { publicRead, publicReadTenant, access, tenancy } = config
  const parsed = scopesOf(publicRead)
  const [scopes, tenant] = [variableOf('publicRead'), variableOf('publicReadTenant')]
  if (publicReadTenant !== '' && !isTenant(publicReadTenant))
    throw new RangeError(`${tenant} is "${publicReadTenant}", but must be the name of one tenant`)
  if (parsed.length > 0 && access !== 'token')
    throw new RangeError(`${scopes} requires ${variableOf('access')} "token": with "${access}" there are no requests without credentials`)
  if (tenancy && parsed.length > 0 && publicReadTenant === '')
    throw new RangeError(`${scopes} requires ${tenant}, because ${variableOf('tenancy')} is on`)
  if (!tenancy && publicReadTenant !== '') throw new RangeError(`${tenant} requires ${variableOf('tenancy')} "on"`)
  // guard: public-condition-is-decidable
  for (const { type, query } of parsed)
    if (query !== '' && !isDecidable(type, query, searchContextOf(config, {})))
      throw new RangeError(`${scopes}: the condition "${query}" is not decidable on a single ${type} by search parameters of R4`)
}

function scopesOf(text: string): ReturnType<typeof parsePublicScopes> {
  try {
    return parsePublicScopes(text)
  } catch (error) {
    throw new RangeError(`${variableOf('publicRead')}: ${(error as Error).message}`)
  }
}
