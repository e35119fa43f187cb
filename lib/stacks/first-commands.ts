/** Commands for the operator of a new stage, shown as outputs of the service stack. */
import type { Settings } from '../settings/settings.ts'

/** Returns the command that registers a client with all scopes, the administrator's too. Without a client, a stage answers no request. */
export const firstClient = (settings: Settings): string =>
  `npm run fhir -- client add admin --secret --scope 'system/*.cruds system/admin'${stageOptions(settings)}`

/** Returns the command that adds a user with all scopes, the administrator's too. Without a user, no person can log in to the explorer. */
export const firstUser = (settings: Settings): string =>
  `npm run fhir -- user add me --scope 'user/*.cruds system/admin' --fhir-user Practitioner/me${stageOptions(settings)}`

const stageOptions = ({ stage, service }: Settings): string => `${service.tenancy === 'on' ? " --tenant '*'" : ''} --stage ${stage}`
