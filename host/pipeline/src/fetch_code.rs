//! Failed fetches as plugins are told of them.

use orbweaver_engine::ErrorCode;
use orbweaver_fetch::Kind;

/// The code of a failed fetch.
pub const fn fetch_code(kind: Kind) -> ErrorCode {
    match kind {
        Kind::Refused => ErrorCode::BlockedAddress,
        Kind::Robots => ErrorCode::Robots,
        Kind::Scope => ErrorCode::NotGranted,
        Kind::InvalidRequest => ErrorCode::InvalidInput,
        Kind::Dns => ErrorCode::Dns,
        Kind::Connect | Kind::Proxy | Kind::Reset | Kind::IncompleteBody => ErrorCode::Connect,
        Kind::Tls => ErrorCode::Tls,
        Kind::Timeout | Kind::Slow => ErrorCode::Timeout,
        Kind::TooLarge | Kind::HeaderTooLarge => ErrorCode::TooLarge,
        Kind::Decode | Kind::BadRedirect | Kind::Protocol | Kind::Browser => ErrorCode::BadResponse,
        Kind::Internal => ErrorCode::Failed,
    }
}
