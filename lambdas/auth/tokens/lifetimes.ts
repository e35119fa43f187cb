/** Lifetimes of tokens. Revocations are retained, and keys stay published, for as long. */

/** Maximum lifetime of an access token, and of the ID token issued with it, in seconds. */
export const MAX_ACCESS_TOKEN_SECONDS = 3_600

const DAY = 24 * 60 * 60 * 1000
/**
 * Lifetimes of a refresh token in milliseconds. Each exchange issues another one. ONC requires at least three months, so at least 92 days:
 * https://www.healthit.gov/test-method/standardized-api-patient-and-population-services
 */
export const REFRESH_LIFETIMES_MS = { offline_access: 92 * DAY, online_access: DAY / 2 }

/** Maximum validity of anything issued, in milliseconds. Everything older has expired. */
export const MAX_TOKEN_LIFETIME_MS = REFRESH_LIFETIMES_MS.offline_access + MAX_ACCESS_TOKEN_SECONDS * 1000
