/**
 * System of the identifier that marks the Groups and Consents of a partner. Its value is the client id of the partner. The access of a
 * partner covers the Groups with its mark.
 */
export const PARTNER_MARK_SYSTEM = 'urn:fhir-serverless:partner'
