/** Parts of the code that the bundles of functions share, or load on first use. */

/** Modules in separate files, by file name, which functions load on first use. `imported`: pattern of the imports that load them. */
export const LATER: Readonly<Record<string, { readonly entry: string; readonly imported: RegExp }>> = {
  's3-blob-store': { entry: './lambdas/adapters/s3/open-blob-store.ts', imported: /^\.\/open-blob-store\.ts$/ },
  fhirpath: { entry: 'fhirpath', imported: /^fhirpath$/ },
  'fhirpath-r4': { entry: 'fhirpath/fhir-context/r4', imported: /^fhirpath\/fhir-context\/r4$/ },
  profiles: { entry: './lambdas/interactions/validation/profile-findings.ts', imported: /\/profile-findings\.ts$/ },
  definitions: { entry: './lambdas/fhir/definitions/r4.ts', imported: /\/definitions\/r4\.ts$/ },
  'pinned-canonicals': { entry: './lambdas/packages/pinned-canonicals.ts', imported: /^\.\/pinned-canonicals\.ts$/ },
  granular: { entry: './lambdas/access/scope-conditions.ts', imported: /\/scope-conditions\.ts$/ },
  'partner-access': { entry: './lambdas/access/partner-access.ts', imported: /\/partner-access\.ts$/ },
  'basis-profiles': { entry: './lambdas/packages/basis-profiles.ts', imported: /\/packages\/basis-profiles\.ts$/ },
  'viewed-version': { entry: './lambdas/access/view/viewed-version.ts', imported: /\/viewed-version\.ts$/ },
  'member-versions': { entry: './lambdas/partners/member-versions.ts', imported: /\/member-versions\.ts$/ },
  'listed-members': { entry: './lambdas/partners/groups/listed-members.ts', imported: /\/listed-members\.ts$/ },
  'person-patients': { entry: './lambdas/runtime/authorization/person-patients.ts', imported: /\/person-patients\.ts$/ },
  'tenant-index-state': { entry: './lambdas/runtime/tenant-index-state.ts', imported: /^\.\.\/tenant-index-state\.ts$/ },
  'external-issuers': { entry: './lambdas/access/verification/external-issuers.ts', imported: /\/external-issuers\.ts$/ },
  'jwt-verifier': { entry: './lambdas/access/verification/jwt-verifier.ts', imported: /^\.\/jwt-verifier\.ts$/ },
  'page-templates': { entry: './lambdas/auth/pages/page-templates.ts', imported: /^\.\.\/\.\.\/auth\/pages\/page-templates\.ts$/ },
  'shaped-body': { entry: './lambdas/interactions/shaped-body.ts', imported: /\/interactions\/shaped-body\.ts$/ },
  'public-read': { entry: './lambdas/http/public-read/admission.ts', imported: /\/public-read\/admission\.ts$/ },
  expressions: { entry: './lambdas/runtime/expressions/forked-expressions.ts', imported: /\/forked-expressions\.ts$/ },
  'expression-process': { entry: './lambdas/runtime/expressions/expression-process.ts', imported: /^\.\/expression-process\.ts$/ },
  'fetch-document': { entry: './lambdas/adapters/https/fetch-document.ts', imported: /\/https\/fetch-document\.ts$/ },
  'transfer-items': { entry: './lambdas/adapters/dynamodb/rows/transfer-items.ts', imported: /^\.\/transfer-items\.ts$/ },
  ucum: { entry: '@lhncbc/ucum-lhc', imported: /^@lhncbc\/ucum-lhc$/ },
}

/**
 * Modules with classes that are checked by instanceof. One shared file contains all of them. If each file had its own copy of a class, a
 * handler would not recognize errors from another file.
 */
export const ONCE: readonly string[] = [
  'access/verification/tenant-claim',
  'auth/oauth-error',
  'ports/faults',
  'ports/security/fetch-document',
  'fhir/outcome',
  'fhir/path/work-budget',
  'fhir/path/tokens',
  'fhir/validate/findings',
].map((name) => `./lambdas/${name}.ts`)
