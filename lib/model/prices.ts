/** List prices of AWS in US dollars. Free tiers that end are omitted. */

export const PRICES_REGION = 'us-east-1'

/** Pages of the prices, and the dates at which these prices were read from the pages or from copies of them. */
export const PRICE_PAGES = [
  { of: 'API Gateway', page: 'https://aws.amazon.com/api-gateway/pricing/', read: '2026-11-28' },
  { of: 'Lambda', page: 'https://aws.amazon.com/lambda/pricing/', read: '2026-11-28' },
  { of: 'logs of Lambda', page: 'https://aws.amazon.com/cloudwatch/pricing/', read: '2026-11-28' },
  { of: 'CloudFront', page: 'https://aws.amazon.com/cloudfront/pricing/', read: '2026-11-28' },
  { of: 'metrics and alarms', page: 'https://aws.amazon.com/cloudwatch/pricing/', read: '2026-11-26' },
  { of: 'DynamoDB', page: 'https://aws.amazon.com/dynamodb/pricing/on-demand/', read: '2026-11-21' },
  { of: 'OpenSearch', page: 'https://aws.amazon.com/opensearch-service/pricing/', read: '2026-11-21' },
  { of: 'WAF', page: 'https://aws.amazon.com/waf/pricing/', read: '2026-11-21' },
  { of: 'KMS', page: 'https://aws.amazon.com/kms/pricing/', read: '2026-11-21' },
  { of: 'Secrets Manager', page: 'https://aws.amazon.com/secrets-manager/pricing/', read: '2026-11-21' },
  { of: 'S3', page: 'https://aws.amazon.com/s3/pricing/', read: '2026-11-22' },
  { of: 'Step Functions', page: 'https://aws.amazon.com/step-functions/pricing/', read: '2026-11-22' },
] as const satisfies readonly { readonly of: string; readonly page: string; readonly read: string }[]

/** Price of the units of a month up to `upTo`, beyond those of the tier before. */
type Tier = { readonly upTo: number; readonly price: number }

const TERABYTE = 1_000

/** Prices that fall with the use of a month. Units: millions of requests, gigabytes and seconds, gigabytes. */
export const TIERS = {
  api: [
    { upTo: 333, price: 3.5 },
    { upTo: 1_000, price: 2.8 },
    { upTo: 20_000, price: 2.38 },
    { upTo: Number.POSITIVE_INFINITY, price: 1.51 },
  ],
  /** For arm64. https://aws.amazon.com/blogs/compute/introducing-tiered-pricing-for-aws-lambda/ */
  computing: [
    { upTo: 7.5e9, price: 0.0000133334 },
    { upTo: 18.75e9, price: 0.0000120001 },
    { upTo: Number.POSITIVE_INFINITY, price: 0.0000106667 },
  ],
  /** Logs of functions. */
  log: [
    { upTo: 10 * TERABYTE, price: 0.5 },
    { upTo: 30 * TERABYTE, price: 0.25 },
    { upTo: 50 * TERABYTE, price: 0.1 },
    { upTo: Number.POSITIVE_INFINITY, price: 0.05 },
  ],
  /** After the free terabyte. */
  transfer: [
    { upTo: 10 * TERABYTE, price: 0.085 },
    { upTo: 50 * TERABYTE, price: 0.08 },
    { upTo: 150 * TERABYTE, price: 0.06 },
    { upTo: 500 * TERABYTE, price: 0.04 },
    { upTo: 1_024 * TERABYTE, price: 0.03 },
    { upTo: 5_024 * TERABYTE, price: 0.025 },
    { upTo: Number.POSITIVE_INFINITY, price: 0.02 },
  ],
} as const satisfies Readonly<Record<string, readonly Tier[]>>

/** Returns the price of the units of a month. */
export function tieredPrice(tiers: readonly Tier[], units: number): number {
  let [dollars, from] = [0, 0]
  for (const { upTo, price } of tiers) {
    dollars += Math.max(0, Math.min(units, upTo) - from) * price
    from = upTo
  }
  return dollars
}

/** Prices of the first tier, and those without tiers. */
export const PRICES = {
  /** For a million. */
  api: TIERS.api[0].price,
  invocation: 0.2,
  writeUnit: 0.625,
  readUnit: 0.125,
  cloudFront: 1,
  firewall: 0.6,
  signature: 3,
  objectRead: 0.4,
  objectWrite: 5,
  transition: 25,
  /** For a gigabyte and second, on arm64. */
  computing: TIERS.computing[0].price,
  /** For a gigabyte: once, or each month. */
  log: TIERS.log[0].price,
  transfer: TIERS.transfer[0].price,
  object: 0.023,
  table: 0.25,
  recovery: 0.2,
  backup: 0.1,
  disk: 0.122,
  /** For a month. */
  smallNode: 26.28,
  largeNode: 131,
  firewallAlone: 5,
  firewallRule: 1,
  key: 1,
  secret: 0.4,
  alarm: 0.1,
  metric: 0.3,
} as const

type PriceName = keyof typeof PRICES | keyof typeof TIERS

/** Page of each price. */
export const PAGE_OF: Readonly<Record<PriceName, (typeof PRICE_PAGES)[number]['of']>> = {
  ...{ api: 'API Gateway', invocation: 'Lambda', computing: 'Lambda', log: 'logs of Lambda' },
  ...{ writeUnit: 'DynamoDB', readUnit: 'DynamoDB', table: 'DynamoDB', recovery: 'DynamoDB', backup: 'DynamoDB' },
  ...{ cloudFront: 'CloudFront', transfer: 'CloudFront', firewall: 'WAF', firewallAlone: 'WAF', firewallRule: 'WAF' },
  ...{ smallNode: 'OpenSearch', largeNode: 'OpenSearch', disk: 'OpenSearch', transition: 'Step Functions' },
  ...{ object: 'S3', objectRead: 'S3', objectWrite: 'S3', signature: 'KMS', key: 'KMS', secret: 'Secrets Manager' },
  ...{ alarm: 'metrics and alarms', metric: 'metrics and alarms' },
}

/** Price of a node of OpenSearch for a month, by instance type. A node of twice the size costs twice as much. */
export const PRICES_OF_NODES: Readonly<Record<string, number>> = {
  't3.small.search': PRICES.smallNode,
  'r7g.large.search': PRICES.largeNode,
  'r7g.xlarge.search': 2 * PRICES.largeNode,
  'r7g.2xlarge.search': 4 * PRICES.largeNode,
}

/**
 * Permanent free tiers per month and account: of CloudFront, of CloudWatch, which also includes three dashboards, and of the storage of
 * DynamoDB.
 */
export const FREE = { requests: 10, gigabytes: 1_000, alarms: 10, metrics: 10, stored: 25 } as const

/** Rules of the firewall of a stage with tokens, by the size of its search domain: `demo`, or any larger one. */
export const FIREWALL_RULES = { demo: 2, production: 4 } as const
