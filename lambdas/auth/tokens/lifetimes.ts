/** Lifetimes of tokens. They determine how long revocations are retained and retired keys stay published. */

/** Maximum lifetime of an access token, and of the ID token issued with it, in seconds. */
export const MAX_ACCESS_TOKEN_SECONDS = 3_600

const DAY = 24 * 60 * 60 * 1000
/**
 * Lifetimes of a refresh token in milliseconds, by granted scope. Each exchange issues another one with the full lifetime. ONC requires at
 * least three months, so at least 92 days, for `offline_access`:
 * https://www.healthit.gov/test-method/standardized-api-patient-and-population-services
 */
export const REFRESH_LIFETIMES_MS = { offline_access: 92 * DAY, online_access: DAY / 2 }

/**
 * Maximum lifetime of any token, code, session or launch, in milliseconds. A revocation may be removed after this time, because everything
 * issued before it has expired.
 */
export const MAX_TOKEN_LIFETIME_MS = REFRESH_LIFETIMES_MS.offline_access + MAX_ACCESS_TOKEN_SECONDS * 1000
