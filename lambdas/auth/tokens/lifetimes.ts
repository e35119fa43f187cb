/** How long what is issued counts. As long a revocation is remembered, and a key published. */

/** Seconds, of an access token, and of an ID token beside it. */
export const MAX_ACCESS_TOKEN_SECONDS = 3_600

const DAY = 24 * 60 * 60 * 1000
/**
 * Milliseconds a refresh token counts: each exchange gives another one. Three months have up to 92 days, and ONC asks for three at least:
 * https://www.healthit.gov/test-method/standardized-api-patient-and-population-services
 */
export const REFRESH_LIFETIMES_MS = { offline_access: 92 * DAY, online_access: DAY / 2 }

/** Milliseconds: nothing that was issued before counts any longer. */
export const MAX_TOKEN_LIFETIME_MS = REFRESH_LIFETIMES_MS.offline_access + MAX_ACCESS_TOKEN_SECONDS * 1000
