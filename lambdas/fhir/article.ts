/** Returns a name of FHIR with its article: "a Patient", "an Observation". A name that begins with U sounds like "you", so it gets "a". */
export const withArticle = (name: string): string => `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`
