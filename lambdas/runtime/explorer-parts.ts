/** Facts about a deployment that its explorer needs. */
import type { ShellParts } from '../explorer/shell.ts'
import type { Config } from './config.ts'

/** `baseUrl`: base URL of the server, without a trailing slash. */
export const explorerPartsOf = ({ access, tenancy, tenantClaim }: Config, baseUrl: string): ShellParts => ({
  baseUrl,
  isOpen: access === 'open',
  ...(tenancy ? { tenantClaim } : {}),
})
