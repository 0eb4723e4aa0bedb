//! Texts that once loaded as something they are not: refused with the reason, or read right with a note.

use gigabar_market::load::{LoadOptions, Loaded};

use super::load_texts::load_with;

fn good(text: impl AsRef<[u8]>) -> Loaded {
    load_with(text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The message after the path, and the hint.
fn refused_with(text: impl AsRef<[u8]>, options: &LoadOptions) -> (String, String) {
    let error = match load_with(text, options) {
        Ok(loaded) => panic!("{:?} {:?}", loaded.bars, loaded.notes),
        Err(error) => error,
    };
    let message = error.to_string();
    let after = message.split_once("bars.csv").map_or(message.as_str(), |(_, after)| after).to_owned();
    (after, error.hint().unwrap_or_default())
}

fn refused(text: impl AsRef<[u8]>) -> String {
    refused_with(text, &LoadOptions::default()).0
}

fn repair() -> LoadOptions {
    LoadOptions { repair: true, ..LoadOptions::default() }
}

#[test]
fn a_stray_quote_swallows_no_rows() {
    let rows = |third: &str| {
        format!(
            "time,open,high,low,close,volume,note\n2024-01-01,1,2,0.5,1.5,10,x\n{third}\n2024-01-03,1,2,0.5,1.5,10,y\n\
             2024-01-04,1,2,0.5,1.5,10,\"z\"\n"
        )
    };
    let open = ", line 3: a quote is opened here and never closed";
    for third in
        ["2024-01-02,1,2,0.5,1.5,10,\"5 inch", "2024-01-02,1,2,\"0.5,1.5,10,x", "\"2024-01-02,1,2,0.5,1.5,10,x"]
    {
        // The quote of the last row closes what the third opens, and its own is one too many.
        let text = rows(third).replace("\"z\"", "z");
        assert_eq!(refused(&text), open, "{third}");
        assert_eq!(refused_with(&text, &repair()).0, open, "{third}, with repair");
    }
    let closed = ", line 3: a quoted field that begins here runs on to line 5";
    assert_eq!(refused(rows("2024-01-02,1,2,0.5,1.5,10,\"5 inch")), closed);
    assert!(
        refused_with(rows("2024-01-02,1,2,0.5,1.5,10,\"5 inch"), &repair()).1.contains("rows behind a stray quote")
    );
    assert_eq!(
        refused("\"time,close\n2024-01-01,1\n2024-01-02,2\n"),
        ", line 1: a quote is opened here and never closed"
    );
    assert_eq!(
        refused("time,close\n\"2024-01-01,1\n2024-01-02,2\n"),
        ", line 2: a quote is opened here and never closed"
    );
    let fine = good("time,close,note\n2024-01-01,1,\"a, b\"\n2024-01-02,2,5\" pipe\n2024-01-03,3,\"say \"\"x\"\"\"\n");
    assert_eq!(fine.bars.len(), 3);
}
