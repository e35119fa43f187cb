/** The header in which CloudFront says who asks: it overwrites what a client says of itself. */
export const CLIENT_ADDRESS = 'true-client-ip'
