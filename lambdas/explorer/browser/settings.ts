/** Facts about the server, which the document of the page holds. */
const metaOf = (name: string): string => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? ''

/** Base URL of the server, without a trailing slash. */
export const BASE = metaOf('fhir-base')

/** Whether the server needs no tokens. */
export const IS_OPEN = metaOf('fhir-access') === 'open'

/** Version of the server, and the deployment: `embedded` or `AWS`. */
export const VERSION = metaOf('fhir-version')
export const DEPLOYMENT = metaOf('fhir-deployment')

/** Name of the claim with the tenants of an access token. Empty: the server has no tenancy. */
export const TENANT_CLAIM = metaOf('fhir-tenant-claim')

/** Path of the base URL, such as `/fhir`. */
export const BASE_PATH = new URL(BASE).pathname.replace(/\/$/, '')

/** Path of the explorer, such as `/fhir/explorer`. */
export const ROOT = `${BASE_PATH}/explorer`

/** Whether the page has the origin of the base URL. Otherwise its policy forbids every request. */
export const HAS_OWN_ORIGIN = new URL(BASE).origin === location.origin
