/** Permissions on paths of the search domain. A stage whose cluster is not in AWS has none, because IAM does not protect its cluster. */
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type AwsResources, allow } from './permissions.ts'

/** Paths by which a function makes documents visible, and checks that no copy lacks them. */
export const REFRESH = ['fhir-*/_refresh', 'fhir-*/_search_shards']

type Method = 'Get' | 'Post' | 'Put' | 'Delete'

/** Permits paths of the domain. It cannot restrict the indices that the body of a bulk or multi-search request names. */
export const onSearch = (
  { searchDomainArn }: AwsResources,
  paths: Readonly<Partial<Record<Method, readonly string[]>>>,
): readonly PolicyStatement[] =>
  searchDomainArn === undefined
    ? []
    : Object.entries(paths).map(([method, patterns]) =>
        allow(
          [`es:ESHttp${method}`],
          patterns.map((path) => `${searchDomainArn}/${path}`),
        ),
      )
