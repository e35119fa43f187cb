/** Returns the search context that the settings and the base URLs of the server determine, without custom parameters. */
import type { BaseUrls } from '../fhir/references.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { Config } from './config.ts'

export const searchContextOf = ({ timeZone, referentialIntegrity }: Config, bases: BaseUrls): SearchContext => ({
  ...bases,
  ...(timeZone === 'UTC' ? {} : { timeZone }),
  ...(referentialIntegrity ? { allReferences: true } : {}),
})
