/**
 * System of the identifier that marks the Groups and Consents of a partner. The access of a partner covers the Groups with its mark.
 */
export const PARTNER_MARK_SYSTEM = 'urn:fhir-serverless:partner'

/**
 * Returns the value of the mark: the client id, with `+` before each capital letter. Searches ignore the case of identifiers, but `Payer` and
 * `payer` are two clients. No client id contains `+`.
 */
export const partnerMarkOf = (client: string): string => client.replace(/\p{Lu}/gu, '+$&')
