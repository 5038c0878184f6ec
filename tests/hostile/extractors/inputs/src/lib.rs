//! Asks for the outputs of a few roles, whether its manifest needs them or not, and returns them.
//! The tests give it other manifests.

use hostile_support::host::inputs;

hostile_support::extractor!(|role, page, options| {
    if options.contains("flood") {
        loop {
            drop(std::hint::black_box(inputs::output("good")));
        }
    }
    let outputs: Vec<String> = ["good", "a", "b", "c", "no-such"]
        .map(|name| {
            let said = match inputs::output(name) {
                Ok(json) => json,
                Err(error) if error.code == "failed" => format!("{:?}", error.message),
                Err(error) => format!("{:?}", error.code),
            };
            format!("\"{name}\":{said}")
        })
        .into();
    let url = page.url();
    Ok(format!(
        r#"{{"role":"{role}","url":"{url}",{}}}"#,
        outputs.join(",")
    ))
});
